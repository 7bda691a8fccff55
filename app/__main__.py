"""`python -m app`: the studio and its commands, in an environment that stands."""

from app.commands import main

if __name__ == "__main__":
    main()
