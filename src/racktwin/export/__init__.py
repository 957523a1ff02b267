"""Files that deploy an answer: engine launch files and configs."""
