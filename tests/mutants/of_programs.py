"""Faults of the compiled programs that the command line keeps."""

from tests.mutants.mutant import fault as _fault

_PROGRAMS, _TESTS = "cli/programs.py", "tests/test_cli_programs.py::"
_RELEASES = _TESTS + "test_programs_of_releases_are_those_of_public_facts[cases0]"
_REFUSED = _TESTS + "test_a_folder_that_others_can_write_is_refused"

MUTANTS = (
    _fault(
        "record read by others",
        "programs: records are constants",
        "releases/measuring.py",
        "    measure = partial(_measure, statistic=statistic)\n",
        "    def measure(block):\n"
        "        return jax.jit(lambda: statistic.measure(jnp.asarray(block)))()\n\n",
        _RELEASES,
    ),
    _fault(
        "record read by others",
        "programs: the number of kept rows is a shape",
        "releases/selection.py",
        "return [kept], sampled",
        "return kept, sampled",
        _RELEASES,
    ),
    _fault(
        "record read by others",
        "programs: a folder that everybody can write",
        _PROGRAMS,
        "not facts.st_mode & 0o022",
        "not facts.st_mode & 0o020",
        _REFUSED + "[450]",
    ),
    _fault(
        "record read by others",
        "programs: a folder that a group can write",
        _PROGRAMS,
        "not facts.st_mode & 0o022",
        "not facts.st_mode & 0o002",
        _REFUSED + "[464]",
    ),
    _fault(
        "record read by others",
        "programs: a folder of somebody else",
        _PROGRAMS,
        "facts.st_uid == os.getuid() and ",
        "",
        _TESTS + "test_a_folder_of_somebody_else_is_refused",
    ),
)
