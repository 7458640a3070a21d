//! Style of the page: light or dark, like the reader's system.

pub(crate) const STYLE: &str = "\
:root { --back: #fbfbf9; --panel: #ffffff; --ink: #23272e; --soft: #6b7280; --line: #e4e5e1; --c0: #2166ac; --c1: #d95f0e; \
--c2: #1b9e77; --c3: #7570b3; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --back: #15181d; --panel: #1d2127; --ink: #e3e6ea; --soft: #99a1ad; \
--line: #31363e; --c0: #6cb2f0; --c1: #f5a35c; --c2: #5fd0a8; --c3: #b0a9ee; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 28px 22px 60px; max-width: 1220px; background: var(--back); color: var(--ink); \
font: 15px/1.45 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; }
h1 { font-size: 22px; font-weight: 600; margin: 0 0 2px; overflow-wrap: anywhere; }
h2 { font-size: 16px; font-weight: 600; margin: 34px 0 10px; }
p { margin: 0; }
.soft, .note { color: var(--soft); }
.note { font-size: 13px; margin: 0 0 4px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px; margin: 20px 0 24px; }
.tiles div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tiles b { display: block; font-size: 21px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles span { font-size: 13px; color: var(--soft); }
.track { height: 6px; border-radius: 3px; background: var(--line); margin-top: 14px; overflow: hidden; }
.track i { display: block; height: 100%; background: var(--c0); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr)); gap: 16px; align-items: start; }
figure { margin: 0; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
figcaption { font-weight: 600; margin-bottom: 2px; }
svg { width: 100%; height: auto; display: block; }
svg text { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); }
.axis { stroke: var(--soft); }
polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.s0 { stroke: var(--c0); } .s1 { stroke: var(--c1); } .s2 { stroke: var(--c2); } .s3 { stroke: var(--c3); }
svg .b0 { fill: var(--c0); } svg .b1 { fill: var(--c1); } svg .b2 { fill: var(--c2); }
.cell { fill: var(--c0); }
circle:hover, rect:hover { stroke: var(--ink); stroke-width: 1.5; }
.legend { font-size: 13px; color: var(--soft); }
.legend span { margin-right: 14px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 5px; }
.legend .b0 { background: var(--c0); } .legend .b1 { background: var(--c1); } .legend .b2 { background: var(--c2); }
.scroll { overflow-x: auto; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: 4px 12px; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--soft); font-weight: 500; }
tr:last-child td { border-bottom: 0; }
";
