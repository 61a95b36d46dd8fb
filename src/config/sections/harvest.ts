import { form, table } from '../fields/forms.ts'
import { bool, ids, int, text } from '../fields/values.ts'
import { emailRule } from './rules.ts'
import { dataAround, section } from './section.ts'

/**
 * Rule for names of sets and repositories in identifiers: unreserved characters of addresses, without the colon, which is the
 * separator.
 */
function nameRule(name: string): string | null {
  return /^[A-Za-z0-9._~-]+$/.test(name) ? null : 'letters, digits, dots, hyphens, underscores and tildes'
}

/** A tag filter: all of the tags, at least one, or none must be present. */
const tagFilter = () => form({ all: ids({ most: 1000 }), any: ids({ most: 1000 }), not: ids({ most: 1000 }) })

/** Settings for harvesting over OAI-PMH. */
export const harvesting = {
  oai_pmh: section('access', 'user', {
    /** Whether harvesters may read. They have the rights of the system user `oai_pmh`. */
    enabled: bool(false),
    /** Empty: the title of the instance. */
    repository_name: text('', { maxLength: 1000 }),
    /** Part of identifiers: `oai:<namespace>:<uuid>`. */
    namespace_identifier: text('', { maxLength: 250, rule: nameRule }),
    /** Records of one answer, if the harvester does not ask for a number. */
    records_limit: int(100, { min: 1, max: 10_000 }),
    admin_email: table({ email: text('', { required: true, maxLength: 320, rule: emailRule }) }, { maxRows: 20 }),
    /** The data of linked objects and of parents in records. */
    ...dataAround,
    /** Sets of the objects whose tags fit. */
    tagfilter_sets: table(
      { set_name: text('', { required: true, maxLength: 100, rule: nameRule }), tagfilter: tagFilter() },
      { key: 'set_name', maxRows: 100 },
    ),
    /** Objects whose tags fit are reported as deleted. */
    tagfilter_deleted: tagFilter(),
  }),
} as const
