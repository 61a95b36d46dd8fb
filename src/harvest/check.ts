import type { BaseConfig } from '../config/service.ts'
import { readTagFilter } from '../tags/service.ts'

/** Checks the tags of sets in the base configuration. @throws {AppError} `TagNotFound`, `ServerGeneric` */
export function checkTagsOfHarvest(
  tags: { has(id: number): boolean },
  { oai_pmh: { tagfilter_sets: sets, tagfilter_deleted: deleted } }: Pick<BaseConfig, 'oai_pmh'>,
): void {
  readTagFilter(deleted, tags, 'system/config/oai_pmh/tagfilter_deleted')
  for (const [index, { tagfilter }] of sets.entries()) {
    readTagFilter(tagfilter, tags, `system/config/oai_pmh/tagfilter_sets/${index}/tagfilter`)
  }
}
