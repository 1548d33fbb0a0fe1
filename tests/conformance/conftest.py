"""Where the recorded cases of TensorFlow.js are absent these tests are not collected."""

from tests.conformance.corpus import FOLDER

collect_ignore_glob = [] if FOLDER.is_dir() else ["test_*.py"]
