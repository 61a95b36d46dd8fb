import { html } from '../../platform/values/html.ts'
import { type FigureName, figureUnits } from '../figures.ts'
import type { ConsolePage } from '../model.ts'

/** Live figures, drawn in the browser as they arrive in the stream; without scripts, the current figures. */
export function figuresPage({
  figures,
}: {
  readonly figures: {
    now(): Promise<{ readonly at: string; readonly values: Readonly<Partial<Record<FigureName, number>>> }>
  }
}): ConsolePage {
  return {
    path: 'figures',
    section: 'figures',
    query: [],
    members: ['At', 'Figures'],
    async load() {
      const { at, values } = await figures.now()
      return {
        json: { At: at, Figures: values },
        title: ({ text }) => text('nav.figures'),
        show: (view) => {
          const { text, number, bytes, link } = view
          const shown = (name: FigureName): string => {
            const [value, unit] = [values[name] ?? 0, figureUnits[name]]
            return unit === 'bytes' ? bytes(value) : unit === '' ? number(value) : `${number(value)} ${unit}`
          }
          const cards = (Object.keys(figureUnits) as FigureName[]).map(
            (name) =>
              html`<li class="chart" data-figure="${name}" data-unit="${figureUnits[name]}"><h2 id="t-${name}">${text(`figure.${name}`)}</h2><b data-now>${shown(name)}</b>
<svg viewBox="0 0 200 50" preserveAspectRatio="none" role="img" aria-labelledby="t-${name}"><polygon class="area" points=""/><polyline class="line" points=""/></svg>
<p><span>${text('figures.span')}</span><span>${text('figures.top')} <span data-top>${shown(name)}</span></span></p></li>`,
          )
          return html`<p id="figures-status" class="muted" role="status" data-live="${text('figures.live')}" data-lost="${text('figures.lost')}">${text('figures.wait')}</p><ul class="charts" data-figures="${link('figures/stream/')}">${cards}</ul>`
        },
      }
    },
  }
}

/** The stream itself; the console sends it unchanged. */
export const figuresStreamPage: ConsolePage = {
  path: 'figures/stream',
  section: 'figures',
  query: [],
  members: [],
  load: () => Promise.reject(new Error('the stream has no page')),
}
