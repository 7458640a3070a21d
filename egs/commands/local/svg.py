"""Pictures as SVG, for the recipes that draw."""

from html import escape

INK, FAINT = "#333", "#bbb"


class Svg:
    def __init__(self, width, height):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif">',
            '<rect width="100%" height="100%" fill="white"/>',
        ]

    def text(self, x, y, text, size=13, fill=INK, anchor="start"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">{escape(text)}</text>')

    def raw(self, part):
        self.parts.append(part)

    def save(self, path):
        path.write_text("\n".join([*self.parts, "</svg>"]) + "\n", encoding="utf-8")
