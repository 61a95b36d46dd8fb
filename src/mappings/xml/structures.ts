/** The XML formats that mappings write, by their namespaces. */
import { badRequest } from '../../platform/errors.ts'
import type { ExportTag } from '../model.ts'
import { lido } from './lido.ts'
import { mods } from './mods.ts'
import { readXmlPath, takesLanguages, type XmlStructure } from './structure.ts'

const structures = new Map([lido, mods].map((structure) => [structure.base, structure]))

export const xmlBases: readonly string[] = [...structures.keys()]

/** Null: there is no format with this namespace. */
export function structureOf(base: string | null): XmlStructure | null {
  return base === null ? null : (structures.get(base) ?? null)
}

/** @throws {AppError} `ServerGeneric` where the format has no such element for texts, or the element has no languages */
export function readElement(structure: XmlStructure, tag: ExportTag, place: string): ExportTag {
  const path = readXmlPath(structure, tag.path, place)
  if (!tag.l10n || takesLanguages(path)) return tag
  throw badRequest(`${place}: ${tag.path.slice(0, 100)} has no languages`, {
    path: place,
    value: tag.path.slice(0, 500),
  })
}
