"""`python tools/fit_workloads.py DIR CSV`: public traces -> the workloads that ship."""

from workload_fit.main import main

if __name__ == "__main__":
    main()
