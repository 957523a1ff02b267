"""`python tools/distill.py DIR`: measured kernel tables -> the small ones that ship."""

from distillation.main import main

if __name__ == "__main__":
    main()
