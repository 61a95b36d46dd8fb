import type { Model } from '../../datamodel/model.ts'
import type { datamodelVersions } from '../../datamodel/service.ts'
import type { InspectedObject, InspectedRecord } from '../../objects/service.ts'
import { type Html, html } from '../../platform/values/html.ts'
import { badge, facts, section, table, yesNo } from '../view/parts.ts'
import type { View } from '../view/view.ts'
import type { Names } from './names.ts'
import type { StoredField, StoredFields } from './stored-fields.ts'

interface ShownObject {
  readonly record: InspectedRecord
  readonly stored: StoredFields
  readonly linkedTo: readonly InspectedObject[]
  readonly versions: Awaited<ReturnType<typeof datamodelVersions>>
  readonly shown: Model
  readonly ownVersion: number
  readonly current: number
  readonly warning: string
  readonly names: Names
  readonly dependents: readonly number[]
}

const operations = { i: 'insert', u: 'update', d: 'delete', r: 'restore' } as const

export function objectContent(view: View, shown: ShownObject): Html {
  const { text, button, number } = view
  const { record, warning, dependents } = shown
  return html`${warning ? html`<p class="warning" role="status">${warning}</p>` : ''}${section(
    record.head.title || text('object'),
    head(view, shown),
    html`<p>${button('reindex', text('object.reindex'))}${dependents.length > 0 ? button('reindexLinked', text('object.reindexLinked', { count: number(dependents.length) })) : ''}</p>`,
  )}${section(text('object.content'), chooser(view, shown), fields(view, shown))}${section(
    text('object.linkedTo'),
    linkTable(view, shown.linkedTo, shown.names),
  )}${section(text('object.linkedFrom'), linkedFrom(view, shown))}${section(text('object.versions'), history(view, shown))}`
}

function head(view: View, { record, names }: ShownObject): Html {
  const { text, link, when, number } = view
  const { head: one } = record
  return facts([
    [
      text('objecttype'),
      html`<a href="${link(`objecttypes/${names.objecttype(one.objecttype)}/`)}">${names.objecttype(one.objecttype)}</a>`,
    ],
    [text('id'), one.objectId],
    ['UUID', html`<code>${one.uuid}</code>`],
    [text('version'), one.version],
    [text('state'), html`${badge(view, one.index)}${one.deletedAt ? html` ${badge(view, 'deleted')}` : ''}`],
    [text('pool'), one.poolId && html`<a href="${link(`pools/${one.poolId}/`)}">${names.pool(one.poolId)}</a>`],
    [text('owner'), names.user(one.ownerUser)],
    [text('grants'), one.grants],
    [text('nav.tags'), one.tags.join(', ')],
    [
      text('object.parents'),
      one.parents.length === 0
        ? null
        : html`${one.parents.map((id) => html`<a href="${link(`objects/${id}/`)}">${id}</a> `)}`,
    ],
    [text('nav.collections'), number(one.collections)],
    [text('created'), html`${when(one.createdAt)} ${names.user(one.createdBy)}`],
    [text('modified'), when(one.modifiedAt)],
    [text('object.deleted'), when(one.deletedAt)],
    [text('object.indexed'), when(one.indexedAt)],
    [text('problem'), one.failure],
    [text('nav.events'), html`<a href="${link('events/', { system_object_id: one.id })}">${text('object.events')}</a>`],
  ])
}

/** The choice of the version of the datamodel for the names of the content. */
function chooser(view: View, { versions, shown, ownVersion, current }: ShownObject): Html {
  const { text, here } = view
  const label = (version: number): string =>
    [
      `${version}`,
      ...(version === current ? [text('object.current')] : []),
      ...(version === ownVersion ? [text('object.ofObject')] : []),
    ].join(' · ')
  const options = versions.map(
    ({ version }) =>
      html`<option value="${version}"${version === shown.version ? ' selected' : ''}>${label(version)}</option>`,
  )
  return html`<form class="filter" method="get" action="${here({ datamodel: null }).split('?', 1)[0] ?? ''}"><div><label for="f-datamodel">${text('object.datamodel')}</label><select id="f-datamodel" name="datamodel">${options}</select></div><button>${text('object.showBy')}</button></form>`
}

const tones = { same: '', renamed: 'changed', retyped: 'changed', gone: 'old', added: 'new' } as const

function fields(view: View, { stored }: ShownObject): Html {
  const { text, link } = view
  const links = new Set(stored.links.map(String))
  const value = (field: StoredField): Html =>
    field.type === 'link' && links.has(field.value)
      ? html`<a href="${link(`objects/${field.value}/`)}">${field.value}</a>`
      : html`<span class="code">${field.value}</span>`
  return table<StoredField>(
    view,
    text(stored.cut ? 'object.fields.cut' : 'object.fields'),
    [
      { label: text('column'), value: ({ path }) => path },
      { label: text('type'), value: ({ type }) => type },
      { label: text('value'), kind: 'wide', value },
      {
        label: text('object.difference'),
        value: ({ difference, before }) =>
          difference === 'same'
            ? ''
            : html`<span class="${tones[difference]}">${text(`object.${difference}`, { before })}</span>`,
      },
    ],
    stored.fields,
  )
}

function linkTable(view: View, rows: readonly InspectedObject[], names: Names): Html {
  const { text, link } = view
  return table<InspectedObject>(
    view,
    text('object.linkedTo.caption'),
    [
      { label: text('id'), kind: 'number', value: ({ id }) => html`<a href="${link(`objects/${id}/`)}">${id}</a>` },
      { label: text('title'), kind: 'wide', value: ({ title }) => title },
      { label: text('objecttype'), value: ({ objecttype }) => names.objecttype(objecttype) },
      { label: text('version'), kind: 'number', value: ({ version }) => version },
      {
        label: text('state'),
        value: (row) => html`${badge(view, row.index)}${row.deletedAt ? html` ${badge(view, 'deleted')}` : ''}`,
      },
    ],
    rows,
  )
}

function linkedFrom(view: View, { record, shown, names }: ShownObject): Html {
  const { text, link } = view
  return table(
    view,
    text('object.linkedFrom.caption'),
    [
      { label: text('id'), kind: 'number', value: ({ id }) => html`<a href="${link(`objects/${id}/`)}">${id}</a>` },
      { label: text('title'), kind: 'wide', value: ({ title }) => title },
      { label: text('objecttype'), value: ({ objecttype }) => names.objecttype(objecttype) },
      { label: text('column'), value: ({ columnId }) => shown.columnsById.get(columnId)?.name ?? `#${columnId}` },
    ],
    record.linkedFrom,
  )
}

function history(view: View, { record, names, current }: ShownObject): Html {
  const { text, when } = view
  return table(
    view,
    text('object.versions.caption'),
    [
      { label: text('version'), kind: 'number', value: ({ version }) => version },
      {
        label: text('object.operation'),
        value: ({ operation }) =>
          operation in operations ? text(`object.${operations[operation as keyof typeof operations]}`) : operation,
      },
      { label: text('time'), kind: 'time', value: ({ at }) => when(at) },
      { label: text('user'), value: ({ byUser }) => names.user(byUser) },
      { label: text('object.datamodel'), kind: 'number', value: ({ datamodel }) => datamodel },
      { label: text('object.isCurrent'), value: ({ datamodel }) => yesNo(view, datamodel === current) },
      { label: text('comment'), kind: 'wide', value: ({ comment }) => comment },
    ],
    record.versions,
  )
}
