"""What the tests of the speech server need."""

from .serving import speech  # noqa: F401 - a fixture
