import type { Queryable } from '../../platform/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { mostBits } from '../model.ts'
import type { FileUse, KnownFile } from './access.ts'
import { sameContents } from './duplicates.ts'
import type { Wire } from './render.ts'
import { similarTo } from './similar.ts'

export interface AlikeDeps {
  readonly db: Queryable
  /** See `RecordOptions`. */
  readonly usesOf: (
    from: Queryable,
    caller: CallerRights,
    fileIds: readonly number[],
  ) => Promise<ReadonlyMap<number, readonly FileUse[]>>
  readonly load: (from: Queryable, caller: CallerRights, ids: readonly number[]) => Promise<KnownFile[]>
}

/** Another file that is like one. */
interface Other {
  readonly id: number
  readonly bits: number
  readonly certainty: number
}

/** Bits of a hash. */
const hashBits = 63
/** Of a file so many that look alike are told with it. */
const mostNear = 100
/** So many are looked at whether the caller may see them. */
const mostLooked = 500

/** What looks the same is not the same for sure. */
const certaintyOf = (bits: number): number => Math.round(1000 * (1 - (bits + 1) / hashBits)) / 1000

/** Which files are like others, as far as the caller may see them. */
export function createAlike({ db, usesOf, load }: AlikeDeps) {
  /** Those that the caller may see, as they are answered, by id. */
  async function told(caller: CallerRights, others: readonly Other[]) {
    const ids = [...new Set(others.map(({ id }) => id))]
    if (ids.length === 0) return new Map<number, ReturnType<typeof linked>>()
    const [known, uses] = await Promise.all([load(db, caller, ids), usesOf(db, caller, ids)])
    const seen = known.filter(({ access }) => access.any)
    return new Map(seen.map(({ file }) => [file.id, linked(uses.get(file.id) ?? [])]))
  }

  return {
    /** Records with the other files that are the same or look alike. */
    async withDuplicates(caller: CallerRights, wires: ReadonlyMap<number, Wire>): Promise<Map<number, Wire>> {
      const ids = [...wires.keys()]
      const [same, near] = await Promise.all([
        sameContents(db, ids),
        similarTo(db, ids, { bits: mostBits, most: mostNear }),
      ])
      const others = (id: number): Other[] => [
        ...(same.get(id) ?? []).map((other) => ({ id: other, bits: 0, certainty: 1 })),
        ...(near.get(id) ?? [])
          .filter((other) => !other.same)
          .map((other) => ({ ...other, certainty: certaintyOf(other.bits) })),
      ]
      const seen = await told(caller, ids.flatMap(others))
      return new Map(
        [...wires].map(([id, wire]) => {
          const _duplicates = others(id).flatMap(({ id: _id, certainty }) => {
            const linked_system_objects = seen.get(_id)
            return linked_system_objects ? [{ _id, certainty, linked_system_objects }] : []
          })
          return [id, _duplicates.length === 0 ? wire : { ...wire, _duplicates }]
        }),
      )
    },

    /** Pictures that look like the file, the most similar first. */
    async similar(
      caller: CallerRights,
      id: number,
      { bits, limit }: { readonly bits: number; readonly limit: number },
    ) {
      const most = caller.root ? limit : mostLooked
      const near = (await similarTo(db, [id], { bits, most })).get(id) ?? []
      const others = near.map((other) => ({ ...other, certainty: other.same ? 1 : certaintyOf(other.bits) }))
      const seen = await told(caller, others)
      return others
        .flatMap(({ id: _id, bits: differing_bits, certainty }) => {
          const linked_system_objects = seen.get(_id)
          return linked_system_objects ? [{ _id, certainty, differing_bits, linked_system_objects }] : []
        })
        .slice(0, limit)
    },
  }
}

function linked(uses: readonly FileUse[]) {
  return uses.map(({ object, columnId }) => ({
    _system_object_id: object.systemObjectId,
    _column_id: columnId,
  }))
}
