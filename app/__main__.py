"""`python -m app`: the studio and its commands, in an environment that stands."""

import sys

if __name__ == "__main__":
    try:
        from app.commands import main

        main()
    except KeyboardInterrupt:  # while it was still being imported
        sys.exit(130)
    except ImportError as error:
        sys.exit(f"The environment is damaged ({error}). Delete the folder .venv and start again.")
