import type { Loaded } from '../stored/rows.ts'
import { appliedMergeDepth, type Format, formats } from './formats.ts'
import { type Part, shortBytes } from './parts.ts'
import type { Run } from './run.ts'

/** Where an object is rendered: how, how deep, and below which others. */
export interface Nesting {
  readonly format: Format
  /** How many further levels of links are embedded whole. */
  readonly mergeLeft: number
  readonly top: boolean
  /** Part of an object on top: itself, or below it. Only these show what is below them. */
  readonly owned: boolean
  /** Somewhere inside an object below. */
  readonly inReverse: boolean
  readonly asOf: number | null
  /** The object itself and those around it, innermost first: an object is never embedded in itself. */
  readonly chain: Chain
  /** The part of the answer that it stands in. */
  readonly part: Part
}

export interface Chain {
  readonly id: number
  readonly up: Chain | null
}

/** That of an object that was asked for itself. */
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

/** That of an object that is linked in this place; `merged`: it is shown like the one that it stands in. */
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

/** How many levels of whole objects can stand below one in this place. */
export function levelsBelow({ format, mergeLeft }: Nesting): number {
  return mergeLeft + (formats[format.linked].fields ? 1 : 0)
}

/** How a link is shown: whole, like the object that it stands in, when it is merged, else as the format says. */
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
