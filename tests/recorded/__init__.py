"""What earlier code wrote and drew: files of every format, and results of fixed keys.

`python -m tests.recorded` computes the results anew, for one setting of `DPJAX_X64` at
a time. The files are never written again: they are in the hands of users.
"""
