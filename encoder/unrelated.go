package encoder

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// measuring is the context key that is set while an encoder is measured.
type measuring struct{}

// Unrelated returns the mean cosine of unrelated texts that enc encodes as passages. It is a constant of the model:
// about 0.1 for all-MiniLM-L6-v2, and 0.7 for models of a narrow cone such as E5. It is the lowest over some
// languages. The lowest belongs to a language that the model reads: texts in unknown languages look alike to it. The
// result is never 0. Cost: encoding 64 sentences.
func Unrelated(ctx context.Context, enc Encoder) (float64, error) {
	var texts []string
	for _, s := range strangers {
		texts = append(texts, s...)
	}
	out, err := enc.Encode(context.WithValue(ctx, measuring{}, true), Passage, Texts(texts...), NeedDense)
	if err != nil {
		return 0, fmt.Errorf("encoding sentences that measure the model: %w", err)
	}
	if len(out) != len(texts) {
		return 0, fmt.Errorf("%w: %d outputs for %d sentences", ErrContract, len(out), len(texts))
	}
	least := math.Inf(1)
	for _, s := range strangers {
		var sum, pairs float64
		for i := range s {
			for j := range i {
				sum += cosine(out[i].Dense, out[j].Dense)
				pairs++
			}
		}
		out = out[len(s):]
		least = min(least, sum/pairs)
	}
	if math.IsNaN(least) {
		return 0, fmt.Errorf("%w: a vector without a direction, or of another length, for a sentence that measures the model", ErrContract)
	}
	least = cmp.Or(least, 1e-9)
	return least, nil
}

// strangers are sentences in one language each; no two have the same subject.
var strangers = [...][]string{
	{
		"The bakery on the corner sells rye bread only on Fridays.",
		"Glaciers carve wide valleys as they slide towards the sea.",
		"Her violin teacher insisted on scales before any melody.",
		"The compiler rejected the program because a bracket was missing.",
		"Penguins take turns to keep their single egg warm.",
		"Interest on the loan is charged at the end of each quarter.",
		"He broke his wrist when he fell off the ladder.",
		"The parliament voted to abolish the salt tax.",
		"Red wine should be stored lying down in a cool cellar.",
		"A spare tyre is kept under the floor of the boot.",
		"Children under twelve travel free on regional trains.",
		"The telescope showed rings around the distant planet.",
		"Cotton shrinks if it is washed too hot.",
		"The goalkeeper saved two penalties in the final.",
		"Ancient scribes pressed wedge-shaped signs into wet clay.",
		"Vaccines train the immune system to recognise a virus.",
		"Please return library books before the end of the month.",
		"The bridge was closed after engineers found cracks in a cable.",
		"Honey never spoils if the jar stays sealed.",
		"The novel tells of a lighthouse keeper who cannot sleep.",
		"Prime numbers have no divisors other than one and themselves.",
		"The landlord must give notice before raising the rent.",
		"Solar panels deliver little power on cloudy days.",
		"Tango came from the harbour quarters of Buenos Aires.",
	},
	{
		"Der Zahnarzt hat heute Nachmittag keine Termine mehr frei.",
		"Im Moor wachsen Pflanzen, die Insekten fangen.",
		"Die Oper wurde nach der Pause abgebrochen.",
		"Ein Notar muss den Kaufvertrag beglaubigen.",
		"Bei Neumond sieht man mehr Sterne.",
		"Der Teig muss zwei Stunden ruhen.",
		"Die Batterie des Fahrrads lädt über Nacht.",
		"Kaiser und Papst stritten um die Ernennung der Bischöfe.",
	},
	{
		"Le facteur passe plus tard le samedi matin.",
		"Les abeilles dansent pour indiquer la direction des fleurs.",
		"Le tribunal a annulé la décision du maire.",
		"On a retrouvé une fresque romaine sous le parking.",
		"La farine se conserve à l'abri de l'humidité.",
		"Le logiciel enregistre une copie toutes les dix minutes.",
		"Sa toux a disparu après une semaine de repos.",
		"Le cargo attend la marée haute pour entrer au port.",
	},
	{
		"El volcán expulsó ceniza durante tres días.",
		"Mi abuela guarda las fotografías en una caja de zapatos.",
		"La bolsa cerró con ligeras pérdidas.",
		"Los murciélagos se orientan por el eco.",
		"El arquitecto eligió ladrillos para la fachada.",
		"El examen de conducir dura media hora.",
		"La guitarra tiene una cuerda rota.",
		"Añada el arroz cuando hierva el caldo.",
	},
	{
		"Поезд опоздал на сорок минут из-за снега.",
		"Берёзовые почки собирают ранней весной.",
		"Суд отложил заседание до понедельника.",
		"Шахматист пожертвовал ферзя ради атаки.",
		"Вода кипит при меньшей температуре высоко в горах.",
		"Художник смешал охру с белилами.",
		"У младенца прорезался первый зуб.",
		"Сервер перестал отвечать после обновления.",
	},
	{
		"春天的茶叶要在清明之前采摘。",
		"地铁末班车晚上十一点发车。",
		"考古学家在沙漠里发现了一座古城。",
		"医生建议他每天少吃一点盐。",
		"这台洗衣机的声音太大了。",
		"银行今天下调了存款利率。",
		"熊猫宝宝出生时只有一支铅笔那么长。",
		"他用毛笔写了一副对联。",
	},
}
