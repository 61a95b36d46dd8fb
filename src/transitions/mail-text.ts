import { html } from '../platform/values/html.ts'
import { textIn } from '../platform/values/localized.ts'
import type { EffectJob } from './effects.ts'

export interface TransitionMail {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** An object in a mail. */
export interface MailObject {
  readonly text: string
  /** The address of its page; null: there is none. */
  readonly link: string | null
}

/** The longest list in a mail. Longer ones are cut, with the number of the remaining objects. */
const maxListed = 100

const words = {
  en: { subject: 'Workflow', by: 'By', more: (count: number) => `and ${count} more` },
  de: { subject: 'Workflow', by: 'Von', more: (count: number) => `und ${count} weitere` },
}

/** The mail of a transition in the best language of its reader. */
export function transitionMail(
  job: EffectJob<'email'>,
  objects: readonly MailObject[],
  languages: readonly string[],
): TransitionMail {
  const { by, more, subject: fallback } = languages[0]?.startsWith('de') ? words.de : words.en
  const message = textIn(job.action.message, languages)
  const listed = objects.slice(0, maxListed)
  const rest = objects.length > maxListed ? more(objects.length - maxListed) : ''
  const actor = job.actor ? `${by}: ${job.actor.displayname}` : ''
  const lines = [
    message,
    listed.map(({ text, link }) => `- ${text}${link === null ? '' : `\n  ${link}`}`).join('\n'),
    rest,
    actor,
  ]
  return {
    subject: oneLine(textIn(job.action.subject, languages) || fallback),
    text: lines.filter((line) => line !== '').join('\n\n'),
    html: html`<p style="white-space: pre-line">${message}</p>
<ul>${listed.map(({ text, link }) => html`<li>${link === null ? text : html`<a href="${link}">${text}</a>`}</li>`)}</ul>
<p>${rest}</p>
<p>${actor}</p>`.toString(),
  }
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}
