"""The arguments of each command, declared without importing what computes."""
