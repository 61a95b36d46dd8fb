import type { Queryable } from '../../platform/postgres/db.ts'
import type { CallerRights } from '../../rights/service.ts'
import { mostBits } from '../model.ts'
import type { FileUse, FileWithAccess } from '../records/access.ts'
import { sameContents } from '../records/duplicates.ts'
import { similarTo } from '../records/similar.ts'
import { seesOriginal, type Wire } from './render.ts'

export interface AlikeDeps {
  readonly db: Queryable
  /** See `RecordOptions`. */
  readonly usesOf: (
    from: Queryable,
    caller: CallerRights,
    fileIds: readonly number[],
  ) => Promise<ReadonlyMap<number, readonly FileUse[]>>
  readonly load: (from: Queryable, caller: CallerRights, ids: readonly number[]) => Promise<FileWithAccess[]>
}

/** A file that is equal or similar to another. */
interface Other {
  readonly id: number
  /** Number of differing bits; null: no hash is known. */
  readonly bits: number | null
  /** The contents are equal, bit by bit. */
  readonly same: boolean
}

/** Bits of a hash. */
const hashBits = 63
/** The most similar files that are answered with a file. */
const mostNear = 100
/** Most similar files for which rights are checked. */
const mostLooked = 500

/** A similar look does not prove that two pictures are the same. */
const certaintyOf = (bits: number): number => Math.round(1000 * (1 - (bits + 1) / hashBits)) / 1000

/** Equal and similar files, as far as the caller may see them. */
export function createAlike({ db, usesOf, load }: AlikeDeps) {
  /**
   * The answers for those files that the caller may see, by id. Equal contents are reported only for originals that the
   * caller may both have: otherwise the other file is reported as a similar picture.
   */
  async function told(caller: CallerRights, asking: readonly number[], others: readonly Other[]) {
    const ids = [...new Set([...asking, ...others.map(({ id }) => id)])]
    const [known, uses] = await Promise.all([load(db, caller, ids), usesOf(db, caller, ids)])
    const seen = known.filter(({ access }) => access.any)
    const originals = new Set(seen.filter(({ file, access }) => seesOriginal(file, access)).map(({ file }) => file.id))
    const links = new Map(seen.map(({ file }) => [file.id, linked(uses.get(file.id) ?? [])]))
    return (asked: number, { id, bits, same }: Other) => {
      const linked_system_objects = links.get(id)
      const sure = same && originals.has(asked) && originals.has(id)
      if (!linked_system_objects || (bits === null && !sure)) return null
      return { certainty: sure ? 1 : certaintyOf(bits ?? 0), linked_system_objects }
    }
  }

  return {
    /** Records with the other files that are equal or similar. */
    async withDuplicates(caller: CallerRights, wires: ReadonlyMap<number, Wire>): Promise<Map<number, Wire>> {
      const ids = [...wires.keys()]
      const [same, near] = await Promise.all([
        sameContents(db, ids),
        similarTo(db, ids, { bits: mostBits, most: mostNear }),
      ])
      const others = (id: number): Other[] => {
        const alike = (near.get(id) ?? []).map((other): Other => other)
        const known = new Set(alike.map((other) => other.id))
        const more = (same.get(id) ?? []).filter((other) => !known.has(other))
        const equal = [...more.map((other): Other => ({ id: other, bits: null, same: true }))]
        return [...equal, ...alike].sort((a, b) => Number(b.same) - Number(a.same))
      }
      const tell = await told(caller, ids, ids.flatMap(others))
      return new Map(
        [...wires].map(([id, wire]) => {
          const _duplicates = others(id).flatMap((other) => {
            const answer = tell(id, other)
            return answer ? [{ _id: other.id, ...answer }] : []
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
      const tell = await told(caller, [id], near)
      return near
        .flatMap((other) => {
          const answer = tell(id, other)
          return answer ? [{ _id: other.id, differing_bits: other.bits, ...answer }] : []
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
