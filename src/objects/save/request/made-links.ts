import { isRecord } from '../../content/values.ts'
import { type Draft, maskOf, type PayloadContext, parseObject } from './payload.ts'

/**
 * New objects that links of a payload contain, to be created with it (`_mapped_metadata_created`), as separate drafts, each once.
 * Objects that are already stored are only linked.
 */
export async function newLinkedDrafts(
  context: PayloadContext,
  drafts: readonly Draft[],
  stored: (uuids: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<readonly Draft[]> {
  const made = new Map<string, { readonly draft: () => Draft }>()
  for (const draft of flat(drafts)) {
    for (const { target } of draft.links) {
      if (target.by !== 'uuid' || !target.made || made.has(target.uuid)) continue
      const { table, place, made: wire, uuid } = target
      made.set(uuid, {
        draft: () => {
          const mask = maskOf(table, wire._mask, `${place}._mask`)
          const block = isRecord(wire[table.name]) ? (wire[table.name] as Record<string, unknown>) : {}
          const parts = { wire, block, at: `${place}.${table.name}` }
          return parseObject({ ...context, partial: false }, table, mask, parts, place)
        },
      })
    }
  }
  if (made.size === 0) return []
  const known = await stored([...made.keys()])
  return [...made].filter(([uuid]) => !known.has(uuid)).map(([, { draft }]) => draft())
}

function* flat(drafts: readonly Draft[]): Generator<Draft> {
  for (const draft of drafts) {
    yield draft
    for (const list of draft.reverse.values()) yield* flat(list)
  }
}
