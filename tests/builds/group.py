"""Test cases in the words of the other programs, so that they are counted with them."""
import sys


def run(cases):
    """Runs functions that raise AssertionError where they fail; exits with 1 where one did."""
    failed = []
    print(f"[==========] Running {len(cases)} test(s).")
    for case in cases:
        print(f"[ RUN      ] {case.__name__}", flush=True)
        try:
            case()
            print(f"[       OK ] {case.__name__}", flush=True)
        except AssertionError as error:
            failed.append(case.__name__)
            print(f"[  FAILED  ] {case.__name__}\n{error}", flush=True)
    print(f"[==========] {len(cases)} test(s) run.")
    sys.exit(1 if failed else 0)
