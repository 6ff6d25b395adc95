"""Decision trees and forests of them."""
