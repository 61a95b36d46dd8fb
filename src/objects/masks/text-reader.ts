import type { ColumnField, Mask, MaskField, NestedField, ReverseField } from '../../datamodel/model.ts'
import { type Content, rowsOf } from '../content/stored.ts'
import { wireKeyOf } from './reader.ts'

/**
 * What writing the fields of one object needs besides its content. `null`: what stands there cannot be told as a text now, and
 * the object has to be read into a wire object (reader.ts), whose places are filled when all is there.
 */
export interface TextSink {
  /** JSON of what a link shows. */
  link(systemObjectId: number, field: ColumnField): string | null
  /** JSON of the objects in a reverse field; '': it is not shown. */
  reverse(field: ReverseField): string | null
}

/** Adds the JSON of a field, with the comma before it, when it has a value; false: it cannot. */
type FieldWriter = (content: Content, out: string[], sink: TextSink) => boolean

/** A mask as a function that writes what is not empty of a content as members of a JSON object, each behind a comma. */
export type TextReader = (content: Content, sink: TextSink) => string | null

const readers = new WeakMap<Mask, TextReader>()

/**
 * The same as reading a content with all that is not empty and writing that as JSON, in half of the time: most objects are
 * shown with short links only, whose texts are there already.
 */
export function textReaderOf(mask: Mask): TextReader {
  let reader = readers.get(mask)
  if (!reader) {
    const write = allOf(writersOf(mask.fields))
    reader = (content, sink) => {
      const out: string[] = []
      return write(content, out, sink) ? out.join('') : null
    }
    readers.set(mask, reader)
  }
  return reader
}

const writersOf = (fields: readonly MaskField[]): FieldWriter[] =>
  fields.filter(({ mode }) => mode !== 'off').map(fieldWriter)

function allOf(list: readonly FieldWriter[]): FieldWriter {
  return (content, out, sink) => {
    for (const write of list) if (!write(content, out, sink)) return false
    return true
  }
}

function fieldWriter(field: MaskField): FieldWriter {
  const name = `,${JSON.stringify(wireKeyOf(field))}:`
  if (field.kind === 'reverse') {
    return (_content, out, sink) => {
      const text = sink.reverse(field)
      if (text) out.push(name, text)
      return text !== null
    }
  }
  if (field.kind === 'nested') return nestedWriter(field, name)
  if (field.column.type === 'link') return linkWriter(field, name)
  const { key, type } = field.column
  return (content, out) => {
    const value = content[key]
    if (value === undefined) return true
    // What files say of themselves depends on who asks.
    return type !== 'eas' && out.push(name, JSON.stringify(value)) > 0
  }
}

function linkWriter(field: ColumnField, name: string): FieldWriter {
  const { key } = field.column
  return (content, out, sink) => {
    const target = content[key]
    if (target === undefined) return true
    const text = sink.link(target as number, field)
    return text !== null && out.push(name, text) > 0
  }
}

function nestedWriter(field: NestedField, name: string): FieldWriter {
  const { table, sort } = field
  const write = allOf(writersOf(field.fields))
  return (content, out, sink) => {
    const rows = rowsOf(content, table)
    if (rows.length === 0) return true
    // The order may depend on what is linked.
    if (sort.length > 0 && rows.length > 1) return false
    let start = `${name}[`
    for (const row of rows) {
      out.push(start, `{"_uuid":${JSON.stringify(row._u)}`)
      if (!write(row, out, sink)) return false
      out.push('}')
      start = ','
    }
    out.push(']')
    return true
  }
}
