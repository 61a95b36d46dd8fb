import type { Column, Table } from '../../datamodel/model.ts'
import type { ObjecttypeStats } from '../../objecttypes/schema.ts'
import { type Html, html } from '../../platform/values/html.ts'
import { section, table, tiles, yesNo } from '../view/parts.ts'
import type { View } from '../view/view.ts'

export interface TypeFigures {
  readonly type: Table
  readonly live: number
  readonly deleted: number
  readonly waiting: number
  readonly failed: number
  readonly files: ObjecttypeStats['files']
}

export function typeContent(view: View, { type, live, deleted, waiting, failed, files }: TypeFigures): Html {
  const { text, number, bytes, link } = view
  return html`${tiles([
    { label: text('objects'), value: number(live), to: link('objects/', { objecttype: type.name }) },
    {
      label: text('state.deleted'),
      value: number(deleted),
      to: link('objects/', { objecttype: type.name, trash: 'deleted' }),
    },
    { label: text('state.waiting'), value: number(waiting), tone: waiting > 0 ? 'busy' : 'good' },
    { label: text('state.failed'), value: number(failed), tone: failed > 0 ? 'bad' : 'good' },
    { label: text('files'), value: number(files.count) },
    { label: text('size'), value: bytes(files.size) },
  ])}${section(text('files'), fileTable(view, files))}${section(text('columns'), columnTable(view, type))}`
}

/** Files by class: originals of the latest versions, of former ones and in the trash, and their renditions. */
export function fileTable(view: View, files: ObjecttypeStats['files']): Html {
  const { text, number, bytes } = view
  const ages = ['latest', 'history', 'deleted'] as const
  const rows = (['originals', 'versions'] as const).flatMap((kind) =>
    ages.flatMap((age) =>
      Object.entries(files[kind][age].by_class).map(([name, { count, size }]) => ({ kind, age, name, count, size })),
    ),
  )
  return table(
    view,
    text('files.caption'),
    [
      { label: text('files.kind'), value: ({ kind }) => text(`files.${kind}`) },
      { label: text('files.age'), value: ({ age }) => text(`files.age.${age}`) },
      { label: text('files.class'), value: ({ name }) => name },
      { label: text('count'), kind: 'number', value: ({ count }) => number(count) },
      { label: text('size'), kind: 'number', value: ({ size }) => bytes(size) },
    ],
    rows,
  )
}

/** The columns of a table and of its nested tables. */
export function columnTable(view: View, type: Table): Html {
  const { text } = view
  return table<Column>(
    view,
    text('columns.caption'),
    [
      { label: text('column'), value: ({ fullName }) => fullName },
      { label: text('id'), kind: 'number', value: ({ id }) => id },
      { label: text('type'), value: ({ typeName }) => typeName },
      { label: text('columns.target'), value: ({ target }) => target?.name },
      { label: text('columns.required'), value: ({ constraints }) => yesNo(view, constraints.notNull) },
    ],
    columnsBelow(type),
  )
}

export function columnsBelow(type: Table): Column[] {
  return [...type.columns, ...type.nested.flatMap(columnsBelow)]
}
