import type { Wire } from '../../objects/service.ts'
import { isRecord } from '../../platform/values/records.ts'
import type { FormatOptions } from '../options.ts'

export type CellValue = string | number | boolean

export interface Cell {
  /** `work.title.de-DE`, `work._nested:work__material[0].name`, `_created`. */
  readonly path: string
  readonly value: CellValue
}

export interface CellOptions {
  readonly options: FormatOptions
  /** Of the reader. */
  readonly languages: readonly string[]
}

export type AddCell = (path: string, value: CellValue) => void

export function addTexts(texts: Readonly<Record<string, unknown>>, path: string, add: AddCell): void {
  for (const [language, text] of Object.entries(texts)) if (typeof text === 'string') add(`${path}.${language}`, text)
}

/** The title of an object, by language. */
export function standardTexts({ _standard: standard }: Wire, slot = '1'): Readonly<Record<string, unknown>> {
  const first = isRecord(standard) ? standard[slot] : null
  return isRecord(first) && isRecord(first.text) ? first.text : {}
}
