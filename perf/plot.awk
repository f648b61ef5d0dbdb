# SPDX-License-Identifier: Apache-2.0
#
# An SVG of measured values. Lines in: "dot X Y" (a single run), "line X Y" (a mean; joined), "model X Y" (what was expected; joined, dashed).
# X on a scale that doubles, Y from 0. Variables: title, xlabel, ylabel.
function x_at(x) { return left + (log(x) - log(x_min)) / (log(x_max) - log(x_min)) * width }
function y_at(y) { return top + height - y / y_max * height }
function text(x, y, anchor, size, s) { printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor, size, s }
function path(kind, style,    i, d) {
    for (i = 1; i <= n; i++)
        if (what[i] == kind) d = d (d == "" ? "M" : "L") sprintf("%.1f %.1f ", x_at(x[i]), y_at(y[i]))
    printf "<path d=\"%s\" fill=\"none\" %s/>\n", d, style
}
{
    what[++n] = $1; x[n] = $2; y[n] = $3
    if (n == 1 || $2 < x_min) x_min = $2
    if (n == 1 || $2 > x_max) x_max = $2
    if ($3 > y_max) y_max = $3
    seen[$2] = 1
}
END {
    left = 70; top = 50; width = 560; height = 300
    step = y_max > 40 ? 20 : y_max > 20 ? 10 : y_max > 8 ? 5 : y_max > 4 ? 2 : 1
    y_max = (int(y_max / step) + 1) * step
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 660 420\" font-family=\"sans-serif\">"
    print "<rect width=\"660\" height=\"420\" fill=\"white\"/>"
    text(330, 25, "middle", 15, title)
    text(left + width / 2, 405, "middle", 13, xlabel)
    printf "<g transform=\"translate(20 %d) rotate(-90)\">", top + height / 2
    text(0, 0, "middle", 13, ylabel)
    print "</g>"
    for (v = 0; v <= y_max; v += step) {
        printf "<path d=\"M%d %.1fh%d\" stroke=\"#ddd\"/>\n", left, y_at(v), width
        text(left - 8, y_at(v) + 4, "end", 12, v)
    }
    for (v in seen) {
        printf "<path d=\"M%.1f %dv%d\" stroke=\"#ddd\"/>\n", x_at(v), top, height
        text(x_at(v), top + height + 18, "middle", 12, v)
    }
    path("model", "stroke=\"#888\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"")
    path("line", "stroke=\"#1f5fa8\" stroke-width=\"2\"")
    for (i = 1; i <= n; i++)
        if (what[i] == "dot") printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"#1f5fa8\" fill-opacity=\"0.55\"/>\n", x_at(x[i]), y_at(y[i])
    printf "<path d=\"M%d %dh30\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>\n", left + width - 190, top + 14
    text(left + width - 154, top + 18, "start", 12, "measured: mean, dots: runs")
    printf "<path d=\"M%d %dh30\" stroke=\"#888\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"/>\n", left + width - 190, top + 34
    text(left + width - 154, top + 38, "start", 12, "model")
    print "</svg>"
}
