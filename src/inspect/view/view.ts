import { type Html, html } from '../../platform/values/html.ts'
import { hiddenFields } from '../../signin/service.ts'
import type { FormTokens } from '../forms.ts'
import type { ConsoleLanguage } from './language.ts'
import type { TextName } from './texts.en.ts'

/** One page for one reader. */
export interface View extends ConsoleLanguage {
  /** An address of the console: `link('objects/12/')`; empty parameters are left out. */
  link(path: string, query?: Readonly<Record<string, string | number | boolean | null | undefined>>): string
  /** The address of this page with other parameters. */
  here(query: Readonly<Record<string, string | number | boolean | null | undefined>>): string
  /** A parameter as it was sent. */
  asked(name: string): string
  /** A button for an action; empty where the reader may not run actions. */
  button(action: string, label: string, fields?: Readonly<Record<string, string>>, kind?: 'plain' | 'danger'): Html
  /** A time, with a machine-readable value. */
  when(value: Date | string | null | undefined): Html
  /** Whether buttons are shown. */
  readonly acts: boolean
}

export interface ViewOptions {
  readonly language: ConsoleLanguage
  /** The base path of the console: `/inspect/`. */
  readonly base: string
  /** Path of the page below it. */
  readonly path: string
  readonly query: ReadonlyMap<string, string>
  /** Null: the reader may not run actions. */
  readonly tokens: FormTokens | null
}

export function createView({ language, base, path, query, tokens }: ViewOptions): View {
  const address = (at: string, values: readonly (readonly [string, unknown])[]): string => {
    const given = values.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
    const text = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)])).toString()
    return text === '' ? `${base}${at}` : `${base}${at}?${text}`
  }
  return {
    ...language,
    acts: tokens !== null,
    link: (at, values = {}) => address(at, Object.entries(values)),
    here: (values) => {
      const kept = [...query].filter(([name]) => !(name in values) && name !== 'done' && name !== 'accept')
      return address(path, [...kept, ...Object.entries(values)])
    },
    asked: (name) => query.get(name) ?? '',
    button(action, label, fields = {}, kind = 'plain') {
      if (!tokens) return html``
      const hidden = { ...fields, action, csrf: tokens.of(`${path} ${action}`) }
      return html`<form class="act" method="post" action="${base}${path}">${hiddenFields(hidden)}<button class="${kind}">${label}</button></form>`
    },
    when(value) {
      if (value === null || value === undefined || value === '') return html`<span class="none">–</span>`
      const date = new Date(value)
      if (Number.isNaN(date.getTime())) return html`${String(value)}`
      return html`<time datetime="${date.toISOString()}">${language.time(date)}</time>`
    },
  }
}

/** The word for a state with the code name `state.done`. */
export function stateText(view: Pick<View, 'text'>, state: string): string {
  const name = `state.${state}`
  return isTextName(name) ? view.text(name) : state
}

const isTextName = (name: string): name is TextName => knownStates.has(name)

const knownStates: ReadonlySet<string> = new Set([
  'state.indexed',
  'state.waiting',
  'state.failed',
  'state.error',
  'state.deleted',
  'state.live',
  'state.running',
  'state.due',
  'state.later',
  'state.given_up',
  'state.idle',
  'state.queued',
  'state.pending',
  'state.processing',
  'state.done',
  'state.not_produced',
  'state.too_small',
  'state.unmarked',
  'state.ok',
  'state.damaged',
  'state.missing',
  'state.connected',
  'state.not accessible',
  'state.unreadable',
  'state.new',
  'state.canceled',
  'state.on',
  'state.off',
  'state.stopped',
] satisfies TextName[])
