"""Files that deploy an answer: engine launch files, written in one step."""

from racktwin.export.folder import write_folder
from racktwin.export.launch import launch_files

__all__ = ["launch_files", "write_folder"]
