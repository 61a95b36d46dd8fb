import type { Column, Model, Table } from '../model.ts'

/** With more object types than this only links are listed, so that the picture stays readable. */
const detailedUpTo = 30
const shownColumns = 25

/**
 * The object types as a graph in the DOT language: a box per object type with its columns and nested tables, an arrow
 * per link. Bold arrows are links with `reverse_edit`: the target owns the linking objects.
 */
export function graphDot(model: Model): string {
  const tables = [...model.objecttypes.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  const detailed = tables.length <= detailedUpTo
  return [
    'digraph datamodel {',
    '  graph [rankdir=LR, nodesep=0.35, ranksep=1.1, bgcolor=white, pad=0.4, newrank=true, remincross=true]',
    '  node [shape=plain, fontname="Helvetica,Arial,sans-serif", fontsize=12, fontcolor="#1f2933"]',
    '  edge [color="#7b8794", arrowsize=0.7]',
    ...(tables.length === 0 ? ['  empty [label="There are no object types."]'] : []),
    ...tables.map((table) => `  t${table.id} [label=<${box(table, detailed)}>]`),
    ...tables.flatMap((table) => edges(table).map((edge) => `  ${edge}`)),
    '}',
  ].join('\n')
}

function box(table: Table, detailed: boolean): string {
  const rows = [header(table), ...columnRows(table, detailed, 0)]
  return `<table border="0" cellborder="1" cellspacing="0" cellpadding="4" color="#9aa5b1">${rows.join('')}</table>`
}

function header(table: Table): string {
  const flags = [
    table.hierarchical ? 'hierarchy' : '',
    table.polyhierarchical ? 'polyhierarchy' : '',
    table.poolLink ? 'pool' : '',
    table.hasTags ? 'tags' : '',
  ].filter(Boolean)
  const color = table.poolLink ? '#cfe3f7' : '#e4e7eb'
  const note = flags.length > 0 ? `<br/><font point-size="10" color="#52606d">${flags.join(', ')}</font>` : ''
  return `<tr><td port="head" colspan="2" bgcolor="${color}"><b>${quote(table.name)}</b>${note}</td></tr>`
}

function columnRows(table: Table, detailed: boolean, depth: number): string[] {
  const listed = detailed ? table.columns : table.columns.filter((column) => column.type === 'link')
  const shown = listed.length > shownColumns ? orderLinksFirst(listed).slice(0, shownColumns) : listed
  const hidden = table.columns.length - shown.length
  const indent = '&#160;&#160;&#160;'.repeat(depth)
  const rows = shown.map((column) => columnRow(column, indent))
  if (hidden > 0) {
    const word = hidden === 1 ? 'field' : 'fields'
    rows.push(`<tr><td colspan="2" align="left"><font color="#7b8794">${indent}${hidden} more ${word}</font></td></tr>`)
  }
  for (const nested of table.nested) {
    rows.push(`<tr><td colspan="2" align="left" bgcolor="#f5f7fa">${indent}<i>${quote(nested.name)}</i></td></tr>`)
    rows.push(...columnRows(nested, detailed, depth + 1))
  }
  return rows
}

/** Puts links first, because arrows start at them: a long list must not hide them. */
function orderLinksFirst(columns: readonly Column[]): Column[] {
  return [...columns].sort((a, b) => Number(b.type === 'link') - Number(a.type === 'link'))
}

function columnRow(column: Column, indent: string): string {
  const name = quote(column.name)
  const label = column.constraints.notNull ? `<b>${name}</b>` : name
  const type = quote(column.target ? column.target.name : column.typeName)
  const cells = [
    `<td align="left" sides="TBL">${indent}${label}</td>`,
    `<td port="c${column.id}" align="left" sides="TBR"><font color="#7b8794">${type}</font></td>`,
  ]
  return `<tr>${cells.join('')}</tr>`
}

function edges(table: Table): string[] {
  const links = table.columns.filter((column) => column.target)
  const own = links.map((column) => {
    const style = column.reverseEdit ? ' [penwidth=2, color="#334e68"]' : ''
    return `t${table.root.id}:c${column.id} -> t${column.target?.id}:head${style}`
  })
  return [...own, ...table.nested.flatMap(edges)]
}

function quote(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
