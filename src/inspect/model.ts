import type { Actor } from '../platform/actor.ts'
import type { Form } from '../platform/http/form.ts'
import type { Html } from '../platform/values/html.ts'
import type { Query } from './query.ts'
import type { TextName } from './view/texts.en.ts'
import type { View } from './view/view.ts'

/**
 * The console: pages on which administrators see the data and the work of the service. A *page* loads its data once, and has two
 * forms: `json`, which has the listed members and no others, and HTML. An *action* is run by a button of a page.
 */
export interface ConsolePage {
  /** Below `/inspect/`, without slashes around it; `:name` matches one part. */
  readonly path: string
  /** The entry of the menu to which it belongs. */
  readonly section: Section
  /** Parameters that its address may have. */
  readonly query: readonly string[]
  /** Members of its JSON form, in their order. */
  readonly members: readonly string[]
  load(context: PageContext): Promise<LoadedPage>
  readonly actions?: Readonly<Record<string, Action>>
}

export interface PageContext {
  readonly actor: Actor
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
}

export interface LoadedPage {
  readonly json: Readonly<Record<string, unknown>>
  title(view: View): string
  show(view: View): Html
}

/** Carries out a form. Returns the message for the page, and the target page, when it is another one. */
export type Action = (context: PageContext, form: Form) => Promise<{ readonly said: TextName; readonly to?: string }>

/** Entries of the menu, by group. */
export const menu = {
  overview: ['home', 'status', 'figures'],
  data: ['objecttypes', 'objects', 'pools', 'collections', 'tags', 'files', 'users', 'promises', 'publish', 'messages'],
  operation: ['tasks', 'queues', 'statements', 'events', 'janitor', 'words', 'locations', 'backups'],
  setup: ['config', 'datamodel', 'mappings', 'plugins', 'tokens', 'sql'],
} as const

export type Section = (typeof menu)[keyof typeof menu][number]

/** The path of each entry of the menu, below `/inspect/`. */
export const sectionPaths: Readonly<Record<Section, string>> = {
  home: '',
  status: 'system/status/',
  figures: 'figures/',
  objecttypes: 'objects/list/',
  objects: 'objects/',
  pools: 'pools/',
  collections: 'collections/',
  tags: 'tags/',
  files: 'files/',
  users: 'users/',
  promises: 'promises/',
  publish: 'publish/',
  messages: 'messages/',
  tasks: 'tasks/',
  queues: 'queues/',
  statements: 'statements/',
  events: 'events/',
  janitor: 'system/janitor/',
  words: 'recalcterms/',
  locations: 'locations/',
  backups: 'migration/',
  config: 'config/',
  datamodel: 'datamodel/',
  mappings: 'mappings/',
  plugins: 'plugins/',
  tokens: 'tokens/',
  sql: 'sqlquery/',
}
