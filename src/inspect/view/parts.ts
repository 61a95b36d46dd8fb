import { type Html, type HtmlValue, html, joined, nothing } from '../../platform/values/html.ts'
import { stateText, type View } from './view.ts'

export interface Column<Row> {
  readonly label: string
  /** Numbers are aligned right. */
  readonly kind?: 'number' | 'wide' | 'code' | 'time'
  value(row: Row): HtmlValue | null | undefined
}

const dash = html`<span class="none">–</span>`
const shown = (value: HtmlValue | null | undefined): HtmlValue =>
  value === null || value === undefined || value === '' ? dash : value

/** Rows with a heading for each column; on a telephone each row is a card, and the headings are beside the values. */
export function table<Row>(view: View, caption: string, columns: readonly Column<Row>[], rows: readonly Row[]): Html {
  if (rows.length === 0) return html`<p class="empty">${view.text('none')}</p>`
  const head = columns.map(({ label, kind = '' }) => html`<th scope="col" class="${kind}">${label}</th>`)
  const body = rows.map(
    (row) =>
      html`<tr>${columns.map(({ label, kind = '', value }) => html`<td data-label="${label}" class="${kind}"><div>${shown(value(row))}</div></td>`)}</tr>`,
  )
  return html`<table class="rows"><caption>${caption}</caption><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`
}

/** A list of names and values. */
export function facts(entries: readonly (readonly [string, HtmlValue | null | undefined])[]): Html {
  return html`<dl class="facts">${entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${shown(value)}</dd></div>`)}</dl>`
}

/** Large numbers side by side; a number may link to its source. */
export interface Tile {
  readonly label: string
  readonly value: HtmlValue
  readonly to?: string
  readonly tone?: 'good' | 'bad' | 'busy'
}

export function tiles(entries: readonly Tile[]): Html {
  return html`<ul class="tiles">${entries.map(({ label, value, to, tone = '' }) => {
    const inner = html`<b class="${tone}">${value}</b><span>${label}</span>`
    return html`<li>${to === undefined ? html`<div>${inner}</div>` : html`<a href="${to}">${inner}</a>`}</li>`
  })}</ul>`
}

const tones: Readonly<Record<string, string>> = {
  ...Object.fromEntries(['indexed', 'done', 'ok', 'connected', 'on', 'live', 'idle'].map((name) => [name, 'good'])),
  ...Object.fromEntries(
    ['failed', 'error', 'canceled', 'given_up', 'damaged', 'missing', 'not accessible', 'unreadable', 'deleted'].map(
      (name) => [name, 'bad'],
    ),
  ),
  ...Object.fromEntries(['waiting', 'running', 'due', 'queued', 'pending', 'processing'].map((name) => [name, 'busy'])),
}

/** A state in one word, in its colour. */
export const badge = (view: View, state: string): Html =>
  html`<span class="badge ${tones[state] ?? ''}">${stateText(view, state)}</span>`

export const yesNo = (view: View, value: boolean): string => view.text(value ? 'yes' : 'no')

/** A heading with its content. */
export const section = (title: string, ...content: readonly Html[]): Html =>
  html`<section><h2>${title}</h2>${joined(content)}</section>`

/** Maximum number of characters of a value on a page; its JSON form is complete. */
const longestValue = 20_000

/** A value as formatted JSON. */
export function json(value: unknown): Html {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return html`<pre class="json">${text.length > longestValue ? `${text.slice(0, longestValue)}\n…` : text}</pre>`
}

export const fold = (title: HtmlValue, content: Html, open = false): Html =>
  html`<details${open ? ' open' : ''}><summary>${title}</summary>${content}</details>`

interface Pages {
  readonly Offset: number
  readonly Limit: number
  readonly Prev: number | null
  readonly Next: number | null
}

/** The range of the shown rows, with links to the previous and next ones. */
export function pager(view: View, { Offset, Limit, Prev, Next }: Pages, count: number, total?: number): Html {
  if (count === 0 && Offset === 0) return nothing
  const range = { first: view.number(Offset + 1), last: view.number(Offset + count) }
  const said =
    total === undefined ? view.text('pager', range) : view.text('pager.of', { ...range, total: view.number(total) })
  const step = (offset: number | null, label: string): Html =>
    offset === null
      ? nothing
      : html`<a href="${view.here({ offset: offset === 0 ? null : offset, limit: Limit })}">${label}</a>`
  return html`<nav class="pager" aria-label="${view.text('pager.label')}">${step(Prev, view.text('pager.before'))}<span>${said}</span>${step(Next, view.text('pager.behind'))}</nav>`
}

export interface FilterField {
  readonly name: string
  readonly label: string
  /** The choices; without them the field is free text. */
  readonly choices?: readonly (readonly [value: string, label: string])[]
  readonly placeholder?: string
  /** The label of the empty choice. */
  readonly blank?: string
}

/** A form that filters the rows of the page. */
export function filter(view: View, path: string, fields: readonly FilterField[]): Html {
  const shownFields = fields.map(({ name, label, choices, placeholder = '', blank = view.text('any') }) => {
    const value = view.asked(name)
    const input = choices
      ? html`<select id="f-${name}" name="${name}"><option value="">${blank}</option>${choices.map(
          ([one, text]) => html`<option value="${one}"${one === value ? ' selected' : ''}>${text}</option>`,
        )}</select>`
      : html`<input id="f-${name}" name="${name}" value="${value}" placeholder="${placeholder}" autocomplete="off" spellcheck="false">`
    return html`<div><label for="f-${name}">${label}</label>${input}</div>`
  })
  return html`<form class="filter" method="get" action="${view.link(path)}">${shownFields}<button>${view.text('filter')}</button></form>`
}
