import type { Texts } from './texts.en.ts'

/** What the pages say, in German. */
export const german: Texts = {
  'page.skip': 'Zum Formular',
  'page.required': 'Pflichtfeld',

  'error.title': 'Das hat nicht geklappt',
  'error.back': 'Gehen Sie zurück zu der Anwendung, aus der Sie gekommen sind, und beginnen Sie dort noch einmal.',
  'error.technical': 'Für die Betreuung der Anwendung: {detail}',
  'error.request': 'Im Protokoll steht diese Anfrage unter {id}.',
  'error.badRequest': 'Die Adresse oder das Formular, das Ihr Browser geschickt hat, ist unvollständig oder falsch.',
  'error.formExpired':
    'Dieses Formular ist zu alt, oder Ihr Browser behält für diese Adresse keine Cookies. Erlauben Sie Cookies und versuchen Sie es noch einmal.',
  'error.loginExpired':
    'Diese Anmeldung hat zu lange gedauert oder ist schon beendet. Bitte melden Sie sich von vorn an.',
  'error.tooMany': 'Es waren zu viele Versuche. Versuchen Sie es in {minutes} Minuten wieder.',
  'error.unavailable': 'Der Dienst ist ausgelastet oder startet gerade. Versuchen Sie es in einer Minute wieder.',
  'error.internal':
    'Hier ist etwas schiefgegangen. Versuchen Sie es noch einmal; geschieht es wieder, sagen Sie es denen, die diesen Dienst betreiben.',

  'login.title': 'Anmelden',
  'login.to': 'bei {name}',
  'login.login': 'Anmeldename oder E-Mail-Adresse',
  'login.password': 'Passwort',
  'login.keep': 'Auf diesem Gerät {days} Tage angemeldet bleiben',
  'login.submit': 'Anmelden',
  'login.guest': 'Als Gast fortfahren',
  'login.or': 'oder',
  'login.missing': 'Geben Sie Anmeldename und Passwort ein.',
  'login.wrong': 'Anmeldename oder Passwort ist falsch, oder dieses Konto ist zurzeit nicht benutzbar.',
  'login.blocked': 'Es waren zu viele falsche Passwörter. Versuchen Sie es in {minutes} Minuten wieder.',
  'login.startOver': 'Es waren zu viele falsche Antworten. Bitte melden Sie sich noch einmal an.',

  'signOut.title': 'Abmelden?',
  'signOut.text': 'Sie kommen von einer anderen Seite. Möchten Sie sich in diesem Browser abmelden?',
  'signOut.submit': 'Abmelden',
  'signedOut.title': 'Abgemeldet',
  'signedOut.text':
    'Sie haben sich in diesem Browser abgemeldet. Schließen Sie an einem Rechner, den auch andere benutzen, jetzt den Browser.',
}
