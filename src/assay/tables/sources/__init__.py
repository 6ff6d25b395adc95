"""Where tables come from: files, databases, frames, folders of images. Each is a `Source`; `recognise.py` finds out which."""
