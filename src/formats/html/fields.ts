/** Fields of an object on its page, in the language of the reader. */

import type { Column } from '../../datamodel/model.ts'
import { type FieldTree, namedBy, type ObjectTree, valueText } from '../../objects/service.ts'
import { type Html, html, joined, nothing } from '../../platform/values/html.ts'
import { textIn } from '../../platform/values/localized.ts'
import { type PageOf, pageAddress } from '../page-address.ts'
import { standardTexts } from '../table/cell.ts'
import type { PageTexts } from './texts.ts'

export interface FieldContext {
  readonly languages: readonly string[]
  readonly words: PageTexts
  /** Where an object has a page; null: nowhere. */
  readonly pageOf: PageOf
}

export function fieldList(fields: readonly FieldTree[], context: FieldContext): Html {
  const entries = fields.flatMap((field) => {
    const value = fieldValue(field, context)
    return value ? [html`<dt>${labelOf(field, context)}</dt><dd>${value}</dd>`] : []
  })
  return entries.length === 0 ? nothing : html`<dl>${joined(entries)}</dl>`
}

function labelOf(field: FieldTree, { languages }: FieldContext): string {
  const { name, nameLocalized } = namedBy(field)
  return textIn(nameLocalized, languages) || name
}

/** Null: there is no value to show. */
function fieldValue(field: FieldTree, context: FieldContext): Html | null {
  switch (field.kind) {
    case 'value':
      return field.value === null ? null : valueHtml(field.column, field.value, context)
    case 'texts':
      return textHtml(textIn(field.texts, context.languages))
    case 'link':
      return objectLink(field.object, context)
    case 'rows':
      return list(field.rows.map((row) => rowHtml(row.fields, context)))
    case 'objects':
      return list(field.objects.map((object) => objectLink(object, context)))
    case 'files':
      return null
  }
}

/** A row with one field is that field; with several, a list of them. */
function rowHtml(fields: readonly FieldTree[], context: FieldContext): Html {
  const [only, ...more] = fields
  return (only && more.length === 0 ? fieldValue(only, context) : fieldList(fields, context)) ?? nothing
}

const list = (entries: readonly Html[]): Html | null =>
  entries.length === 0 ? null : html`<ul>${entries.map((entry) => html`<li>${entry}</li>`)}</ul>`

function valueHtml(column: Column, value: unknown, { languages, words }: FieldContext): Html | null {
  if (column.type === 'boolean') return html`${value === true ? words.yes : words.no}`
  if (column.type === 'geo_json') return html`<code>${JSON.stringify(value)}</code>`
  const text = valueText(column, value, languages)
  if (text === undefined) return null
  return textHtml(typeof text === 'string' ? text : textIn(text, languages))
}

const textHtml = (text: string): Html | null =>
  text === '' ? null : html`<span class="text">${text.replaceAll('\r\n', '\n')}</span>`

export function objectLink({ wire }: ObjectTree, { languages, words, pageOf }: FieldContext): Html {
  const name = textIn(standardTexts(wire) as Readonly<Record<string, string>>, languages)
  if (name === '') return html`<span class="muted">${words.hidden}</span>`
  const address = pageAddress(pageOf, wire)
  return address === null ? html`${name}` : html`<a href="${address}">${name}</a>`
}
