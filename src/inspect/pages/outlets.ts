import { html, joined } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import type { ConsolePage } from '../model.ts'
import { neighbours, notThere, pathId } from '../query.ts'
import { badge, facts, fold, json, pager, section, table, yesNo } from '../view/parts.ts'
import type { PageDeps } from './deps.ts'

/** Records of publications at other places (own extension). */
export function publishPage({ publish }: Pick<PageDeps, 'publish'>): ConsolePage {
  return {
    path: 'publish',
    section: 'publish',
    query: ['offset', 'limit'],
    members: ['Publications', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, query }) {
      const page = query.page()
      const found = await publish.list(actor, { ...page, limit: page.limit + 1 })
      const rows = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      return {
        json: { Publications: rows, ...around },
        title: ({ text }) => text('nav.publish'),
        show: (view) => {
          const { text, when, link } = view
          return html`<section>${table(
            view,
            text('publish.caption'),
            [
              { label: text('id'), kind: 'number', value: ({ publish: one }) => one._id },
              {
                label: text('object'),
                kind: 'number',
                value: ({ publish: one }) =>
                  html`<a href="${link(`objects/${one.system_object_id}/`)}">${one.system_object_id}</a>`,
              },
              {
                label: text('version'),
                value: ({ publish: one }) => (one.version === 0 ? text('publish.latest') : one.version),
              },
              { label: text('publish.collector'), value: ({ publish: one }) => one.collector },
              { label: text('publish.uri'), kind: 'wide', value: ({ publish: one }) => one.publish_uri },
              { label: text('created'), kind: 'time', value: ({ _timestamp_created: at }) => when(at) },
            ],
            rows,
          )}${pager(view, around, rows.length)}</section>`
        },
      }
    },
  }
}

/** Profiles of metadata with their mappings (own extension). */
export function mappingsPage({ mappings, baseConfig }: Pick<PageDeps, 'mappings' | 'baseConfig'>): ConsolePage {
  return {
    path: 'mappings',
    section: 'mappings',
    query: [],
    members: ['Profiles'],
    async load() {
      const profiles = await mappings.list()
      return {
        json: { Profiles: profiles },
        title: ({ text }) => text('nav.mappings'),
        show: (view) => {
          const { text, number, link } = view
          const languages = baseConfig.databaseLanguages()
          return joined(
            profiles.map((profile) =>
              section(
                textIn(profile.displayname, languages) || profile.profile,
                facts([
                  [text('mappings.profile'), profile.profile],
                  [text('mappings.uses'), usesOf(profile.profile_type)],
                  [text('mappings.fields'), number(profile.tabs.reduce((sum, { fields }) => sum + fields.length, 0))],
                ]),
                table(
                  view,
                  text('mappings.caption'),
                  [
                    {
                      label: text('id'),
                      kind: 'number',
                      value: ({ id }) => html`<a href="${link(`mappings/${id}/`)}">${id}</a>`,
                    },
                    {
                      label: text('name'),
                      kind: 'wide',
                      value: ({ displayname }) => textIn(displayname, languages),
                    },
                  ],
                  profile.mappings,
                ),
              ),
            ),
          )
        },
      }
    },
  }
}

/** One mapping: the tags of each field. */
export function mappingPage({
  mappings,
  baseConfig,
  datamodel,
}: Pick<PageDeps, 'mappings' | 'baseConfig' | 'datamodel'>): ConsolePage {
  return {
    path: 'mappings/:mapping',
    section: 'mappings',
    query: [],
    members: ['Mapping'],
    async load({ actor, params }) {
      const id = pathId(params.mapping, 'mapping')
      const known = (await mappings.list()).some((profile) => profile.mappings.some((one) => one.id === id))
      if (!known) throw notThere({ mapping: id })
      const mapping = await mappings.read(actor, id)
      return {
        json: { Mapping: mapping },
        title: ({ text }) =>
          `${text('mappings.mapping')} ${textIn(mapping.displayname, baseConfig.databaseLanguages()) || id}`,
        show: (view) => {
          const { text } = view
          const { idTable, profile, profile_type: type, limited_extensions: extensions, custom, fields } = mapping
          return joined([
            section(
              text('details'),
              facts([
                [text('mappings.profile'), profile],
                [text('mappings.uses'), usesOf(type)],
                [
                  text('objecttype'),
                  idTable ? (datamodel.current().tablesById.get(idTable)?.name ?? `${idTable}`) : text('all'),
                ],
                [text('mappings.extensions'), extensions.join(', ') || text('all')],
                [text('mappings.own'), yesNo(view, !custom)],
              ]),
            ),
            section(
              text('mappings.fields'),
              table(
                view,
                text('mappings.fields.caption'),
                [
                  { label: text('name'), value: (field) => String((field as { name?: unknown }).name ?? '') },
                  {
                    label: text('details'),
                    kind: 'wide',
                    value: (field) => fold(text('details'), json(field)),
                  },
                ],
                fields,
              ),
            ),
          ])
        },
      }
    },
  }
}

function usesOf(type: Readonly<Record<string, unknown>>): string {
  return Object.keys(type)
    .filter((name) => type[name] === true)
    .join(', ')
}

/** Messages of administrators to groups (own extension). */
export function messagesPage({ messages, baseConfig }: Pick<PageDeps, 'messages' | 'baseConfig'>): ConsolePage {
  return {
    path: 'messages',
    section: 'messages',
    query: ['offset', 'limit'],
    members: ['Messages', 'Offset', 'Limit', 'Prev', 'Next'],
    async load({ actor, query }) {
      const page = query.page()
      const found = await messages.list(actor, { ...page, limit: page.limit + 1 })
      const rows = found.slice(0, page.limit)
      const around = neighbours(page, found.length)
      return {
        json: { Messages: rows, ...around },
        title: ({ text }) => text('nav.messages'),
        show: (view) => {
          const { text, when } = view
          const languages = baseConfig.databaseLanguages()
          const open = ({ message: { start_time: from, end_time: until } }: (typeof rows)[number]): boolean => {
            const now = Date.now()
            return !(from && Date.parse(from.value) > now) && !(until && Date.parse(until.value) <= now)
          }
          return html`<section>${table(
            view,
            text('messages.caption'),
            [
              { label: text('id'), kind: 'number', value: ({ message }) => message._id },
              { label: text('version'), kind: 'number', value: ({ message }) => message._version },
              { label: text('title'), value: ({ message }) => textIn(message.title, languages) },
              { label: text('reference'), value: ({ message }) => message.reference },
              {
                label: text('messages.text'),
                kind: 'wide',
                value: ({ message }) => fold(text('details'), json(message.message)),
              },
              {
                label: text('messages.groups'),
                value: ({ _groups }) =>
                  _groups.map(({ group }) => group._generated_displayname).join(', ') || text('messages.everybody'),
              },
              { label: text('messages.from'), kind: 'time', value: ({ message }) => when(message.start_time?.value) },
              { label: text('messages.until'), kind: 'time', value: ({ message }) => when(message.end_time?.value) },
              { label: text('state'), value: (row) => badge(view, open(row) ? 'on' : 'off') },
            ],
            rows,
          )}${pager(view, around, rows.length)}</section>`
        },
      }
    },
  }
}
