"""Decision trees and forests: what they share."""
