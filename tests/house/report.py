"""Runs cases and prints one line for each, as cmocka does; scripts/count_tests.py counts them."""
import traceback

from violation import Unable


def run(cases):
    """cases: {name: function that returns the messages of what is wrong}. Returns the exit code."""
    passed, failed, skipped = 0, 0, 0
    for name, case in cases.items():
        try:
            messages = list(case())
        except Unable as why:
            print(f"[  SKIPPED ] {name}: {why}")
            skipped += 1
            continue
        except Exception:
            messages = [traceback.format_exc()]
        for message in messages:
            print(message)
        print(f"[  FAILED  ] {name}" if messages else f"[       OK ] {name}")
        failed += bool(messages)
        passed += not messages
    print(f"[  PASSED  ] {passed} test(s).")
    if skipped:
        print(f"[  SKIPPED ] {skipped} test(s), listed below:")
    if failed:
        print(f"[  FAILED  ] {failed} test(s), listed below:")
    return 1 if failed else 0
