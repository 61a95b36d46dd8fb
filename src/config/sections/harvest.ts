import { bool, form, ids, int, select, table, text } from '../fields.ts'
import { emailRule } from './rules.ts'
import { section } from './section.ts'

/** What sets and repositories are called in identifiers: unreserved characters of addresses, without the colon that parts them. */
function nameRule(name: string): string | null {
  return /^[A-Za-z0-9._~-]+$/.test(name) ? null : 'letters, digits, dots, hyphens, underscores and tildes'
}

/** Tags that all, one at least, or none of must be there. */
const tagFilter = () => form({ all: ids({ most: 1000 }), any: ids({ most: 1000 }), not: ids({ most: 1000 }) })

/** What harvesters get over OAI-PMH. */
export const harvesting = {
  oai_pmh: section('access', 'user', {
    /** Harvesters get what the system user `oai_pmh` may read. */
    enabled: bool(false),
    /** Empty: the title of the instance. */
    repository_name: text('', { maxLength: 1000 }),
    /** Stands in identifiers: `oai:<namespace>:<uuid>`. */
    namespace_identifier: text('', { maxLength: 250, rule: nameRule }),
    /** Records of one answer where a harvester does not say. */
    records_limit: int(100, { min: 1, max: 10_000 }),
    admin_email: table({ email: text('', { required: true, maxLength: 320, rule: emailRule }) }, { maxRows: 20 }),
    /** What records say of what an object links to, and of what it stands below. */
    include_parents: bool(false),
    merge_linked_objects: select(
      ['none', 'all', 'in_main_search', 'not_in_main_search', 'not_in_main_search_unless_reverse'],
      'none',
    ),
    merge_max_depth: int(1, { min: 1, max: 9 }),
    /** Sets of the objects whose tags fit. */
    tagfilter_sets: table(
      { set_name: text('', { required: true, maxLength: 100, rule: nameRule }), tagfilter: tagFilter() },
      { key: 'set_name', maxRows: 100 },
    ),
    /** Objects whose tags fit are told as deleted. */
    tagfilter_deleted: tagFilter(),
  }),
} as const
