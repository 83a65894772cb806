"""Reports about a release for the people who approve and read a publication."""
