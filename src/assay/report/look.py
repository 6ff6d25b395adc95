"""How the page looks: one style sheet, light and dark, on a phone and on paper. No script, nothing from elsewhere."""

from __future__ import annotations

CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1b1c1d;--soft:#565b61;--line:#d5d8dc;--card:#f5f6f8;--link:#0b5cad;
--good:#1a6b37;--bad:#b3261e;--mild:#8a5300;--tint:#e8f0fa}
@media(prefers-color-scheme:dark){:root{--paper:#15171a;--ink:#e8eaed;--soft:#a9b0b8;--line:#3a3f45;--card:#1e2125;--link:#8ab8f5;
--good:#7fd49b;--bad:#ff9a8f;--mild:#f0b766;--tint:#1d2a3a}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;
overflow-wrap:break-word}
header,main,footer{max-width:76rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}
h1{font-size:1.35rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.35rem;line-height:1.25;margin:2.5rem 0 .75rem;padding-top:.75rem;border-top:2px solid var(--line)}
h3{font-size:1.08rem;margin:1.75rem 0 .5rem}
h4{font-size:1rem;margin:1.25rem 0 .5rem}
p,ul,dl{margin:.5rem 0;max-width:48rem}
ul{padding-left:1.25rem}
a{color:var(--link)}
.verdict{font-size:1.3rem;line-height:1.4;font-weight:600;margin:1rem 0;padding:1rem 1.25rem;border-left:5px solid var(--link);
background:var(--tint);border-radius:4px;max-width:none}
.soft,figcaption,caption,summary+p{color:var(--soft)}
.soft,figcaption,caption{font-size:.92rem}
nav ul{list-style:none;padding:0;margin:.25rem 0;display:flex;flex-wrap:wrap;gap:.25rem 1rem;max-width:none}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;max-width:100%;margin:.75rem 0}
table{border-collapse:collapse;font-size:.95rem;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:0 0 .35rem;caption-side:top}caption span{display:block;max-width:calc(100vw - 2.5rem)}
.w{min-width:14rem}
th,td{padding:.3rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
thead th{border-bottom:2px solid var(--line);white-space:nowrap;font-weight:600}
tbody th{font-weight:600}
.n{text-align:right;white-space:nowrap}
tr:has(.mark){background:var(--tint)}
.pill{display:inline-block;font-size:.82rem;line-height:1.3;padding:.05rem .5rem;border:1px solid currentColor;border-radius:1rem;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.mild{color:var(--mild)}
.worry{border-left:4px solid currentColor;padding:.1rem 0 .1rem .9rem;margin:.9rem 0}
.worry>*{color:var(--ink)}.worry strong{font-weight:600}.worry p{margin:.2rem 0}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,30rem),1fr));gap:1.25rem;align-items:start;margin:.75rem 0}
.figures.one{grid-template-columns:minmax(0,1fr)}
@media screen and (min-width:64rem){.figures.one>figure,.figures>figure:last-child:nth-child(odd){grid-column:1/-1;display:grid;
grid-template-columns:minmax(14rem,1fr) minmax(0,44rem);gap:1.25rem;align-items:start}}
figure{margin:0;padding:.75rem;background:var(--card);border:1px solid var(--line);border-radius:6px;min-width:0;break-inside:avoid}
figure .scroll{margin:.35rem 0 0}
figure svg{display:block;margin:0 auto}
figcaption strong{color:var(--ink);font-size:1rem}
pre{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:.6rem .8rem;white-space:pre-wrap;overflow-wrap:anywhere;
font:.9rem/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;max-width:60rem}
details{margin:.75rem 0}summary{cursor:pointer;font-weight:600;padding:.35rem 0}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.top{font-size:.92rem}
footer{margin-top:3rem;padding-bottom:2rem;color:var(--soft);font-size:.92rem}
@media(max-width:40rem){header,main,footer{padding-left:.9rem;padding-right:.9rem}.verdict{font-size:1.12rem;padding:.75rem .9rem}
dl{grid-template-columns:minmax(0,1fr);gap:0}dd{margin-bottom:.4rem}th,td{padding:.3rem .5rem}figure{padding:.5rem}
figure svg{min-width:min(27rem,var(--w,27rem))}tbody th{position:sticky;left:0;background:var(--paper);max-width:40vw}tr:has(.mark) th{background:var(--tint)}}
@media print{:root{color-scheme:light;--paper:#fff;--ink:#000;--soft:#444;--line:#bbb;--card:#fff;--link:#000;--good:#000;--bad:#000;
--mild:#000;--tint:#f1f1f1}@page{margin:1.6cm}body{font-size:10pt}nav,.top{display:none}header,main,footer{max-width:none;padding:0}
.model{break-before:page}h2,h3,h4{break-after:avoid}tr,figure,.worry,.verdict{break-inside:avoid}.scroll{overflow:visible}
.figures{grid-template-columns:1fr 1fr}figure svg{max-width:100%;height:auto}table{font-size:8.5pt}thead{display:table-header-group}
details::details-content{content-visibility:visible;block-size:auto}a{text-decoration:none}}
"""
