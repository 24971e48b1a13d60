// Plots, by Chart.js: series over time or by category, as stacked bars or as lines.
//
//   const plot = plotOf({ title: "Emails" });
//   plot.set(labels, [{ title: "Delivered", colour: "--good", values: [...] }]);
//   main.append(plot.element);      plot.destroy() when the user leaves the page
//
// A plot is drawn when it comes into view, or once the rest of the page has had its time; new values
// are drawn only in view.
//
// Screen readers get a label for the plot: its sums, or the text that tell() was given.

import { el, number } from "./elements.js";

let library = null;
let Chart; // once it is loaded; never, if its package is missing
const load = () => (library ??= import("./chart.js").then(() => (Chart = globalThis.Chart)).catch(() => {}));
const LATE_MS = 1000; // then plots out of view have their turn
const MARGIN = "200px"; // around the window, counts as in view
const STAYS_MS = 100; // in view: what is above a plot may still be loading, and move it away

const colourOf = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const sum = (values) => values.reduce((all, value) => all + (value ?? 0), 0);

// The legend shows lines as lines and bars as boxes.
const labelsOf = (chart) =>
  Chart.defaults.plugins.legend.labels.generateLabels(chart).map((label) => ({
    ...label,
    pointStyle: chart.data.datasets[label.datasetIndex].type === "line" ? "line" : "rect",
  }));

// kind: "bar" (stacked) or "line"; format: returns the text of a value; logarithmic: for values of
// very different size; isFraction: values are not integers. Without a legend, the page itself
// explains the colours.
export function plotOf({ title, kind = "bar", format = number, logarithmic = false, isFraction = false, legend = true } = {}) {
  const canvas = el("canvas", { role: "img", "aria-label": title });
  const element = el("div.chart", canvas);
  let chart = null;
  let told;
  let last = null;
  let isDrawn = false; // as `last` says
  let isInView = false;
  let isLate = false;

  function datasets(series) {
    return series.map(({ title, colour, values, line = kind === "line", dashed }) => ({
      type: line ? "line" : "bar",
      label: title,
      data: values,
      backgroundColor: colourOf(colour) + (line ? "" : "cc"),
      borderColor: colourOf(colour),
      borderWidth: line ? 1.5 : 0,
      borderDash: dashed ? [5, 4] : [],
      // A value without neighbours has no line; it gets a point.
      pointRadius: values.map((value, i) => (line && (values[i - 1] ?? values[i + 1] ?? null) === null ? 3 : 0)),
      pointHitRadius: 8,
      spanGaps: false,
      order: line ? -1 : 0,
      stack: line ? title : "all",
      maxBarThickness: 64,
      barPercentage: 0.9,
      categoryPercentage: 0.95,
    }));
  }

  function draw() {
    if (!last || isDrawn || !Chart || !element.isConnected) return;
    const { labels, series } = last;
    isDrawn = true;
    const muted = colourOf("--muted");
    chart ??= new Chart(canvas, {
      type: "bar",
      data: { labels: [], datasets: [] },
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: { mode: "index", intersect: false },
        plugins: {
          legend: { display: legend, position: "bottom", labels: { boxWidth: 16, boxHeight: 8, usePointStyle: true, pointStyleWidth: 16, generateLabels: labelsOf } },
          tooltip: { boxWidth: 10, boxHeight: 10, boxPadding: 4, callbacks: { label: ({ dataset, raw }) => ` ${dataset.label}: ${format(raw)}` } },
        },
        scales: {
          x: { type: "category", stacked: kind === "bar", grid: { display: false }, ticks: { maxRotation: 0, autoSkipPadding: 24 } },
          y: {
            type: logarithmic ? "logarithmic" : "linear",
            stacked: kind === "bar",
            beginAtZero: !logarithmic,
            border: { display: false },
            ticks: { maxTicksLimit: 5, callback: (value) => (Number.isInteger(value) || logarithmic || isFraction ? format(value) : "") },
          },
        },
      },
    });
    chart.data.labels = labels;
    chart.data.datasets = datasets(series);
    for (const axis of Object.values(chart.options.scales)) axis.ticks.color = muted;
    chart.options.plugins.legend.labels.color = muted;
    chart.options.scales.y.grid = { color: colourOf("--line") };
    chart.update();
  }

  const isDue = () => isInView || (isLate && !chart);
  async function drawIfDue() {
    if (!isDue() || !last || isDrawn) return;
    element.hidden = !(await load()); // without Chart.js there is no plot
    if (isDue()) draw();
  }
  let soon;
  const observer = new IntersectionObserver((all) => {
    clearTimeout(soon);
    isInView = false;
    if (!all.at(-1).isIntersecting) return;
    soon = setTimeout(() => {
      isInView = true;
      drawIfDue();
    }, STAYS_MS);
  }, { rootMargin: MARGIN });
  observer.observe(element);
  const late = setTimeout(() => {
    isLate = true;
    drawIfDue();
  }, LATE_MS);
  function onThemeChange() {
    isDrawn = false;
    if (chart) draw();
  }
  addEventListener("themechange", onThemeChange);
  addEventListener("beforeprint", draw);
  return {
    element,
    set(labels, series) {
      last = { labels, series };
      isDrawn = false;
      canvas.setAttribute("aria-label",
        `${title}: ${told ?? series.map((one) => `${one.title} ${format(sum(one.values))}`).join(", ")}`);
      drawIfDue();
    },
    tell: (text) => (told = text),
    destroy() {
      isInView = isLate = false;
      observer.disconnect();
      clearTimeout(soon);
      clearTimeout(late);
      removeEventListener("themechange", onThemeChange);
      removeEventListener("beforeprint", draw);
      chart?.destroy();
    },
  };
}
