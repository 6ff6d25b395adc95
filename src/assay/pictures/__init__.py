"""The geometry of pictures, in numbers alone: planes, lines, ellipses and contours that figures and the studio both draw."""
