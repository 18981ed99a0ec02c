"""Measures what watching a run costs, beside what people use instead: everything in one run, medians, ratios.

    make bench            all of it
    python bench/run.py kernel | page | adapters    one part

Figures of one machine mean little, the ratios between them much: each line is measured in the same run as what it is compared to.
A line that misses its budget says so, and the exit code is 1.
"""

from __future__ import annotations

import sys

from adapter_costs import measure_adapters
from figures import Report
from kernel import measure_kernel
from page import measure_page

PARTS = {"kernel": measure_kernel, "page": measure_page, "adapters": measure_adapters}


def main(names: list[str]) -> int:
    """Measures the parts of these names, or all; returns the exit code."""
    unknown = set(names) - set(PARTS)
    if unknown:
        sys.stderr.write(f"parts are {', '.join(PARTS)}, not {', '.join(sorted(unknown))}\n")
        return 2
    report = Report()
    for name in names or PARTS:
        PARTS[name](report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
