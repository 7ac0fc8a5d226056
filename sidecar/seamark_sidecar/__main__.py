"""`python -m seamark_sidecar` is the command `seamark`."""

from seamark_sidecar.cli import main

if __name__ == "__main__":
    main()
