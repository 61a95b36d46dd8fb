import type { Draft } from './draft.ts'
import { identifierOf, languageHeading } from './names.ts'

const localized = { text: 'text_l10n', text_oneline: 'text_l10n_oneline' } as const

interface Member {
  readonly draft: Draft
  readonly language: string
}

/** Headings such as `title.de-DE` and `title_en` become one column with a text in each language. */
export function proposeLanguages(drafts: readonly Draft[], known: readonly string[], key: Draft | null): void {
  const groups = new Map<string, Member[]>()
  for (const draft of drafts) {
    if (!isText(draft) || draft === key) continue
    const found = languageHeading(draft.statistics.heading, known)
    if (!found) continue
    const name = identifierOf(found.name)
    groups.set(name, [...(groups.get(name) ?? []), { draft, language: found.language }])
  }
  for (const [name, members] of groups) {
    addPlain(name, members, drafts, known)
    // Two columns for one language are two columns.
    if (new Set(members.map(({ language }) => language)).size < members.length) continue
    const long = members.some(({ draft }) => draft.mapping.type === 'text')
    for (const { draft, language } of members) {
      draft.mapping = { ...draft.mapping, column: name, type: localized[long ? 'text' : 'text_oneline'], language }
      draft.reason = `${language} of ${name}: the heading names the language`
    }
  }
}

/** `title` beside `title_en` is the title in the first language that no other heading names. */
function addPlain(name: string, members: Member[], drafts: readonly Draft[], known: readonly string[]): void {
  const plain = drafts.find((draft) => isText(draft) && identifierOf(draft.statistics.heading) === name)
  const free = known.find((language) => !members.some((member) => member.language === language))
  if (plain && free !== undefined && !members.some(({ draft }) => draft === plain)) {
    members.push({ draft: plain, language: free })
  }
}

function isText({ mapping: { type, ignore } }: Draft): boolean {
  return ignore !== true && (type === 'text' || type === 'text_oneline')
}
