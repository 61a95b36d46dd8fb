import type { Loaded } from '../stored/rows.ts'
import { appliedMergeDepth, type Format, formats } from './formats.ts'
import { type Part, shortBytes } from './parts.ts'
import type { Run } from './run.ts'

/** The position at which an object is rendered: its format, its depth, and the objects around it. */
export interface Nesting {
  readonly format: Format
  /** Number of further levels at which links are embedded whole. */
  readonly mergeLeft: number
  readonly top: boolean
  /** Part of an object on top: the object itself, or an object below it. Only these show the objects below them. */
  readonly owned: boolean
  /** Somewhere inside an object below. */
  readonly inReverse: boolean
  readonly asOf: number | null
  /** The object itself and those around it, innermost first: an object is never embedded in itself. */
  readonly chain: Chain
  /** The part of the answer that contains it. */
  readonly part: Part
}

export interface Chain {
  readonly id: number
  readonly up: Chain | null
}

/** The nesting of a requested object. */
export function topNesting({ options }: Run, object: Loaded, part: Part): Nesting {
  const isPast = object.version !== object.latestVersion && !options.latestLinked
  return {
    format: options.format,
    mergeLeft: appliedMergeDepth(options.mergeLinkedObjects, options.mergeMaxDepth),
    top: true,
    owned: true,
    inReverse: false,
    asOf: isPast ? object.at.getTime() : null,
    chain: { id: object.systemObjectId, up: null },
    part,
  }
}

/** The nesting of an object that is linked from here; `merged`: it is shown in the format of the object that contains it. */
export function below(nesting: Nesting, id: number, format: Format, merged: boolean): Nesting {
  return {
    ...nesting,
    top: false,
    owned: false,
    format,
    mergeLeft: merged ? nesting.mergeLeft - 1 : 0,
    chain: { id, up: nesting.chain },
  }
}

/** The number of levels of whole objects that can be below an object at this position. */
export function levelsBelow({ format, mergeLeft }: Nesting): number {
  return mergeLeft + (formats[format.linked].fields ? 1 : 0)
}

/**
 * The format of a linked object: whole, in the format of the object that contains it, when it is merged; else the format's own rule
 * for links.
 */
export function linkFormat(run: Run, nesting: Nesting, id: number, inMainSearch: boolean): Format {
  run.parts.spend(shortBytes * nesting.part.times)
  if (inChain(nesting.chain, id)) return formats.short
  const usual = formats[nesting.format.linked]
  const merge = nesting.mergeLeft > 0 && merges(run, nesting, inMainSearch)
  if (!merge && !usual.fields) return usual
  if (!run.parts.mayEmbed(nesting.part.times)) return formats.short
  return merge ? nesting.format : usual
}

function merges({ options }: Run, { inReverse }: Nesting, inMainSearch: boolean): boolean {
  switch (options.mergeLinkedObjects) {
    case 'none':
      return false
    case 'in_main_search':
      return inMainSearch
    case 'not_in_main_search':
      return !inMainSearch
    case 'not_in_main_search_unless_reverse':
      return !inMainSearch && !inReverse
    case 'all':
      return true
  }
}

export function inChain(chain: Chain, id: number): boolean {
  for (let link: Chain | null = chain; link; link = link.up) if (link.id === id) return true
  return false
}
